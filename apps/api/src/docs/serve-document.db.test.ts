import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import { setupApi } from '../../test/start-api.ts';

const api = setupApi();

const WRITTEN = JSON.parse(
  readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8'),
) as object;

test('GET /openapi.json is docs/openapi.json, with a key and without, once and again', async () => {
  const { authorization } = await api.newCaller({ scopes: [] });
  for (const headers of [{}, {}, { authorization }]) {
    const response = await request(api.url).get('/openapi.json').set(headers);
    expect(response.status).toBe(200);
    expect(response.body).toEqual(WRITTEN);
    expect(response.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(response.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/);
  }
});

test('HEAD /openapi.json has the length of the document', async () => {
  const whole = await request(api.url).get('/openapi.json');
  const head = await request(api.url).head('/openapi.json');
  expect(head.status).toBe(200);
  expect(head.headers['content-length']).toBe(String(Buffer.byteLength(whole.text)));
});
