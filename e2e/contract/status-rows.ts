import { newId } from '@postrider/domain';
import { sesError } from '@postrider/testing';
import { message, padded } from './ground.ts';
import type { Answer, Ground } from './ground.ts';

/** How a row of contract 7.2 is reached by a request, or by one for each of its conditions; or why it cannot be, yet. */
export type StatusRow =
  { readonly reach: (ground: Ground) => Promise<Answer | readonly Answer[]> } | { readonly notBuilt: string };

const ENDPOINT = { endpoint: 'https://hooks.example.com' };
const INBOUND: StatusRow = { notBuilt: 'inbound mail' };
let made = 0;
const newDomain = () => ({ name: `shop-${(made += 1)}.example` });

/** A suppression that came of a complaint. @returns its id */
async function newComplaint({ system }: Ground): Promise<string> {
  const id = newId('suppression', { now: () => new Date() });
  await system.db.query(
    `insert into suppressions (id, account_id, address, origin, email_id, created_at)
     values ($1, $2, 'cross@b.example', 'complaint', 'em_1', now())`,
    [id, system.accountId],
  );
  return id;
}

/** By status and slug, as contract 7.2 has them. */
export const STATUS_ROWS: Readonly<Record<string, StatusRow>> = {
  '200, 201, 202 -': { reach: ({ call }) => call('POST /v1/webhooks', { body: ENDPOINT }) },
  '400 validation-failed': {
    async reach(ground) {
      const complaint = await newComplaint(ground);
      return [
        await ground.call('POST /v1/suppressions', { body: { email: 'nobody' } }),
        await ground.call(`DELETE /v1/suppressions/${complaint}`),
        await ground.call('POST /v1/topics', { body: {} }),
        await ground.call('POST /v1/topics', { body: { name: '', default_subscription: 'opt_in' } }),
      ];
    },
  },
  '401 api-key-unauthorized': { reach: ({ call }) => call('GET /v1/webhooks', { key: null }) },
  '403 api-key-forbidden': {
    reach: async ({ call, newKey }) =>
      call('GET /v1/webhooks', { key: await newKey({ scopes: ['emails:read'], limit: 100 }) }),
  },
  '403 domain-not-verified': {
    reach: async ({ call, newKey }) =>
      call('POST /v1/emails', { key: await newKey({ limit: 100 }), body: message() }),
  },
  '403 inbox-limit': INBOUND,
  '403 held-needs-manage': INBOUND,
  '404 not-found': { reach: ({ call }) => call('DELETE /v1/webhooks/wh_01jd0000000000000000000001') },
  '404 link-expired': INBOUND,
  '409 idempotency-conflict': {
    async reach({ call }) {
      const headers = { 'idempotency-key': 'once' };
      await call('POST /v1/emails', { headers, body: message() });
      return call('POST /v1/emails', { headers, body: message() });
    },
  },
  '409 domain-taken': {
    async reach({ call }) {
      const body = newDomain();
      await call('POST /v1/domains', { body });
      return call('POST /v1/domains', { body });
    },
  },
  '409 inbox-exists': INBOUND,
  '409 route-exists': INBOUND,
  '409 not-held': INBOUND,
  '413 request-too-large': {
    reach: ({ call }) => call('POST /v1/webhooks', { body: padded(ENDPOINT, 64 * 1024 + 1) }),
  },
  '422 validation-failed': {
    reach: ({ call }) => call('POST /v1/emails', { body: message({ to: 'nobody' }) }),
  },
  '429 rate-limited': {
    async reach({ call, newKey }) {
      const key = await newKey({ limit: 1 });
      await call('GET /v1/webhooks', { key });
      return call('GET /v1/webhooks', { key });
    },
  },
  '429 inbox-rate-limited': INBOUND,
  '429 thread-rate-limited': INBOUND,
  '500 internal': {
    async reach({ call, system }) {
      await system.db.query('alter table topics rename to topics_gone');
      const answer = await call('GET /v1/topics');
      await system.db.query('alter table topics_gone rename to topics');
      return answer;
    },
  },
  '502 ses-refused': {
    async reach({ call, ses }) {
      ses.script('CreateEmailIdentity', [sesError(400, 'BadRequestException', 'No.')]);
      return call('POST /v1/domains', { body: newDomain() });
    },
  },
  '503 ses-unavailable': {
    async reach({ call, ses }) {
      ses.always('CreateEmailIdentity', sesError(503, 'ServiceUnavailable', 'Later.'));
      const answer = await call('POST /v1/domains', { body: newDomain() });
      ses.always('CreateEmailIdentity', null);
      return answer;
    },
  },
  '503 ses-not-configured': {
    reach: ({ call }) => call('POST /v1/domains', { of: 'sandbox', body: newDomain() }),
  },
  '503 not-ready': {
    async reach({ call, proxy }) {
      proxy.cut();
      const answer = await call('GET /v1/topics', { of: 'cut off' });
      proxy.restore();
      return answer;
    },
  },
};
