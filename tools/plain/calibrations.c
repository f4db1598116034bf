/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/plain/calibrations.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "pesa/calibrations"

static void copy(char field[PESA_CALIBRATION_NAME_MAX], const char *text)
{
	snprintf(field, PESA_CALIBRATION_NAME_MAX, "%s", text ? text : "");
}

void calibration_describe(const struct pesa_profile *profile, struct pesa_calibration *calibration)
{
	*calibration = (struct pesa_calibration){.samples = 0};
	copy(calibration->cpu, pesa_profile_cpu_id(profile));
	copy(calibration->event, pesa_profile_event(profile));
	copy(calibration->host, pesa_profile_hostname(profile));
	copy(calibration->kernel, pesa_profile_os_release(profile));
}

/* A part of a file name: other characters than these become '_'. */
static void add_name(char *path, const char *name)
{
	size_t length = strlen(path);

	for (; *name && length + 1 < PATH_MAX; name++)
		path[length++] = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789.-+",
					*name)
					 ? *name
					 : '_';
	path[length] = '\0';
}

bool calibration_path(const struct pesa_calibration *calibration, char path[PATH_MAX])
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	int length;

	/* The specification: a relative path is to be ignored. */
	if (data && *data == '/')
		length = snprintf(path, PATH_MAX, "%s/" DIRECTORY "/", data);
	else if (home && *home == '/')
		length = snprintf(path, PATH_MAX, "%s/.local/share/" DIRECTORY "/", home);
	else
		return false;
	if (length < 0 || length + 2 * PESA_CALIBRATION_NAME_MAX + 16 > PATH_MAX)
		return false;
	add_name(path, calibration->cpu);
	strcat(path, "_");
	add_name(path, calibration->event);
	strcat(path, ".txt");
	return true;
}

struct pesa_error *calibration_make_directories(const char *path)
{
	char part[PATH_MAX];

	snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0777) && errno != EEXIST)
			return pesa_error_system(errno, "cannot make the directory %s", part);
		*slash = '/';
	}
	return NULL;
}

struct pesa_error *calibration_find(const struct pesa_profile *profile,
				    struct pesa_calibration *calibration, char path[PATH_MAX],
				    bool *found)
{
	struct pesa_calibration wanted;
	struct pesa_error *error;

	*found = false;
	calibration_describe(profile, &wanted);
	if (!*wanted.cpu || !*wanted.event || !calibration_path(&wanted, path) ||
	    access(path, F_OK))
		return NULL;
	error = pesa_calibration_open(path, true, calibration);
	*found = !error && !strcmp(wanted.cpu, calibration->cpu) &&
		 !strcmp(wanted.event, calibration->event) &&
		 !strcmp(wanted.host, calibration->host) &&
		 !strcmp(wanted.kernel, calibration->kernel);
	return error;
}
