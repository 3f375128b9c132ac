import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import { setupApi } from '../../test/start-api.ts';

const api = setupApi();

const WRITTEN = JSON.parse(
  readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8'),
) as {
  readonly paths: Record<string, Record<string, { operationId: string; security: object[] }>>;
  readonly webhooks: Record<string, Record<string, { operationId: string }>>;
  readonly components: { readonly schemas: Record<string, object> };
};

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

test('GET /docs shows every operation, event and schema, and loads nothing', async () => {
  const { status, headers, text } = await request(api.url).get('/docs');
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/);
  expect(text).not.toMatch(/<(?:script|link|img|iframe)|src=|url\(|@import/);
  const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, to = '']) => to);
  const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => `#${id ?? ''}`));
  expect(links.filter((to) => to !== '/openapi.json' && !ids.has(to))).toEqual([]);
  const keyless = Object.values(WRITTEN.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ security }) => security.length === 0);
  expect(text.match(/It needs no key\./g)).toHaveLength(keyless.length); // not said of what workers post
  const operations = [WRITTEN.paths, WRITTEN.webhooks].flatMap((part) =>
    Object.values(part).flatMap((methods) => Object.values(methods)),
  );
  const shown = [
    ...operations.map(({ operationId }) => `#${operationId}`),
    ...Object.keys(WRITTEN.components.schemas).map((name) => `#schema-${name}`),
  ];
  expect(shown.length).toBeGreaterThan(70);
  expect(shown.filter((id) => !ids.has(id))).toEqual([]);
});
