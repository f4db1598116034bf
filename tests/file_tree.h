/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory with small files, as the kernel's sysfs and configurations are.  Include after
 * cmocka.h. */
#ifndef TESTS_FILE_TREE_H
#define TESTS_FILE_TREE_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct file_tree {
	char root[64];
};

struct file_tree_file {
	const char *name, *text;
};

/* Write a file, and make the directories that it is in. */
static inline void file_tree_write(const struct file_tree *tree, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s", tree->root, name);
	for (char *slash = path + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	stream = fopen(path, "w");
	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

/* The state of a test that has its own. */
static inline int file_tree_set_up(void **state, const struct file_tree_file *files, size_t count)
{
	struct file_tree *tree = calloc(1, sizeof(*tree));

	assert_non_null(tree);
	strcpy(tree->root, "/tmp/pesa-tree-XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	for (size_t i = 0; i < count; i++)
		file_tree_write(tree, files[i].name, files[i].text);
	*state = tree;
	return 0;
}

static inline int file_tree_tear_down(void **state)
{
	struct file_tree *tree = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", tree->root);
	assert_int_equal(system(command), 0);
	free(tree);
	return 0;
}

#endif
