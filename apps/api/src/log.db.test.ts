import { expect, test } from '@jest/globals';
import request from 'supertest';
import { setupApi } from '../test/start-api.ts';

const api = setupApi();

/** Every body that the run sends contains this text. */
const MARK = 'mark-of-a-body';

async function run(): Promise<{ key: string; secret: string; keyId: string; accountId: string }> {
  const { key, keyId, accountId, authorization } = await api.newCaller();
  const as = (test: request.Test) => test.set('authorization', authorization);
  const created = await as(request(api.url).post('/v1/webhooks')).send({
    endpoint: `https://${MARK}.example`,
    description: MARK,
    headers: { 'X-Api-Key': MARK },
  });
  const { id, signing_secret: secret } = created.body as { id: string; signing_secret: string };
  const message = { from: `${MARK}@a.example`, to: `${MARK}@b.example`, subject: MARK, html: MARK };
  await as(request(api.url).post('/v1/emails')).send(message);
  await as(request(api.url).post('/v1/emails')).send({ ...message, to: MARK });
  await as(request(api.url).post('/v1/webhooks')).send(`{"${MARK}`);
  await as(request(api.url).post('/v1/webhooks')).send({ endpoint: MARK });
  await as(request(api.url).get(`/v1/emails/${MARK}?${MARK}=${key}`));
  await as(request(api.url).get(`/v1/${MARK}/${secret}`));
  await request(api.url).get('/v1/webhooks').set('authorization', `Bearer ${key}${MARK}`);
  await as(request(api.url).delete(`/v1/webhooks/${id}`));
  // Our own failures log their cause, which must not contain the body.
  await api.database.query(
    'alter table emails add constraint broken check (subject <> $$mark-of-a-body$$) not valid',
  );
  const failed = await as(request(api.url).post('/v1/emails')).send(message);
  expect(failed.status).toBe(500);
  await api.database.query('drop table webhooks');
  expect(
    (
      await as(request(api.url).post('/v1/webhooks')).send({
        endpoint: `https://${MARK}.example`,
        description: MARK,
        headers: { 'X-Api-Key': MARK },
      })
    ).status,
  ).toBe(500);
  return { key, secret, keyId, accountId };
}

test('the log shows who asked for what and the result, and holds no key, secret or body', async () => {
  const { key, secret, keyId, accountId } = await run();
  const log = api.log();
  for (const word of [key, key.slice(8), secret, secret.slice(6), MARK]) expect(log).not.toContain(word);
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const requests = lines.filter(({ msg }) => msg === 'request');
  expect(requests).toHaveLength(11);
  expect(requests[0]).toEqual({
    time: expect.any(String),
    level: 'info',
    msg: 'request',
    service: 'api',
    method: 'POST',
    route: '/v1/webhooks',
    status: 201,
    duration_ms: expect.any(Number),
    request_id: expect.stringMatching(/^req_/),
    key_id: keyId,
    account_id: accountId,
  });
  const routes = requests.map(({ route, status }) => `${String(route)} ${String(status)}`);
  expect(routes).toContain('/v1/emails/:id 404');
  expect(routes).toContain('unmatched 404');
  expect(routes).toContain('/v1/webhooks 401');
});

test('health, readiness and metrics need no key, have no limit, and are logged only at level debug', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    const response = await request(api.url).get(path);
    expect(response.status).toBe(200);
    expect(response.headers['x-request-id']).toMatch(/^req_/);
  }
  const { text } = await request(api.url).get('/metrics');
  expect(text).toMatch(
    /postrider_http_requests_total\{method="POST",route="\/v1\/webhooks",status="201",service="api"\} 1/,
  );
  expect(text).toContain('postrider_http_request_duration_seconds_bucket');
  expect(text).not.toMatch(/mark-of-a-body|(?:wh|em)_[0-9a-z]{26}/);
  expect(api.log()).toMatch(
    /"level":"debug","msg":"request","service":"api","method":"GET","route":"\/healthz"/,
  );
});
