// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the vendors' own clients make of a profile.
 *
 *	client parca < BODY			read a WriteRaw request in JSON, print what is in it
 *	client pyroscope URL OPTIONS < PROFILE	send a profile; OPTIONS: JSON with application, from and
 *						until (seconds), token, tenant
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

import { WriteRawRequest } from '@parca/client/dist/parca/profilestore/v1alpha1/profilestore';
import { PyroscopeApiExporter } from './node_modules/@pyroscope/nodejs/dist/esm/pyroscope-api-exporter.js';
import { Profile } from 'pprof-format';

function parse(gzipped) {
	return Profile.decode(gunzipSync(gzipped));
}

function readParca(body) {
	/* A name that the message does not have is an error. */
	const request = WriteRawRequest.fromJsonString(body.toString('utf8'), { ignoreUnknownFields: false });
	const series = request.series.map(one => ({
		labels: one.labels.labels.map(label => [label.name, label.value]),
		samples: one.samples.map(({ rawProfile }) => ({
			sha256: createHash('sha256').update(rawProfile).digest('hex'),
			pprof_samples: parse(rawProfile).sample.length,
		})),
	}));

	console.log(JSON.stringify({ tenant: request.tenant, normalized: request.normalized, series }));
}

async function sendPyroscope(body, url, options) {
	const { application, from, until, token, tenant } = JSON.parse(options);
	const exporter = new PyroscopeApiExporter(application, token, url, { tenantID: tenant });

	await exporter.export({ profile: parse(body), startedAt: new Date(from * 1000),
				stoppedAt: new Date(until * 1000) });
}

const [what, ...words] = process.argv.slice(2);
const body = readFileSync(0);

if (what === 'parca')
	readParca(body);
else if (what === 'pyroscope')
	await sendPyroscope(body, ...words);
else
	throw new Error(`client: '${what}' is neither parca nor pyroscope`);
