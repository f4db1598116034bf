/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder for the files of a test program, empty again at its end.  Include after cmocka.h. */
#ifndef TESTS_TEMPORARY_FOLDER_H
#define TESTS_TEMPORARY_FOLDER_H

#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/pesa-test.XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

#endif
