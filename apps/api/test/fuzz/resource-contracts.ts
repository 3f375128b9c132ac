import { expect } from '@jest/globals';
import { ID, MARK, TIME } from './route-contract.ts';
import type { BodyContract, RouteContract } from './route-contract.ts';

type Contracts = Readonly<Record<string, RouteContract>>;
type Document = Readonly<Record<string, unknown>>;

const SMALL = { bytesMax: 65_536, tooLarge: '413 request-too-large' } as const;

/** A body that contract 7.1 excepts: without one of its fields, or no JSON, it is refused in plain text. */
export function resourceBody(fields: string | readonly string[], valid: readonly object[]): BodyContract {
  return { ...SMALL, valid, unreadable: '400 text', lacking: { fields: [fields].flat(), kind: '422 text' } };
}

/** A body may be there, and must not have a field. */
export const noFields: BodyContract = {
  ...SMALL,
  valid: [{}],
  mayBeEmpty: true,
  unreadable: '400 text',
  lacking: null,
};

export function judgePage(judge: (entry: Document) => void): RouteContract['judge'] {
  return ({ object, has_more: hasMore, data, ...more }) => {
    expect({ object, hasMore, more }).toEqual({ object: 'list', hasMore: expect.any(Boolean), more: {} });
    for (const entry of data as Document[]) judge(entry);
  };
}

const domain = { keyed: true } as const;

const judgeDomain = (doc: Document): void => {
  expect(doc).toEqual({
    id: ID('dom'),
    name: expect.stringMatching(/^[a-z0-9.-]+$/),
    status: 'pending',
    created_at: TIME,
    region: 'eu-central-1',
    capabilities: { sending: 'enabled', receiving: 'disabled' },
    open_tracking: false,
    click_tracking: false,
  });
};

const judgeWholeDomain = ({ object, records, ...doc }: Document): void => {
  expect({ object, records }).toEqual({ object: 'domain', records: expect.any(Array) });
  judgeDomain(doc);
};

export const domainContracts: Contracts = {
  'POST /v1/domains': {
    ...domain,
    success: '200 json',
    again: '409 domain-taken',
    refusals: ['400 text', '422 text', '422 validation-failed', '413 request-too-large'],
    body: resourceBody('name', [
      { name: `${MARK}.example` },
      { name: `B\u00fccher.${MARK}.example`, region: 'eu-central-1', more: [1] },
    ]),
    judge: judgeWholeDomain,
  },
  'GET /v1/domains': {
    ...domain,
    paged: true,
    success: '200 json',
    refusals: ['422 validation-failed'],
    judge: judgePage(judgeDomain),
  },
  'GET /v1/domains/:id': {
    ...domain,
    noun: 'domain',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: judgeWholeDomain,
  },
  'POST /v1/domains/:id/verify': {
    ...domain,
    noun: 'domain',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: (doc) => expect(doc).toEqual({ object: 'domain', id: ID('dom') }),
  },
  'PATCH /v1/domains/:id': {
    ...domain,
    noun: 'domain',
    success: '200 json',
    refusals: ['400 text', '422 validation-failed', '404 not-found', '413 request-too-large'],
    body: {
      ...resourceBody(
        [],
        [
          {},
          {
            open_tracking: false,
            click_tracking: false,
            tls: 'opportunistic',
            capabilities: { sending: 'enabled', receiving: 'enabled' },
            tracking_subdomain: null,
          },
        ],
      ),
      lacking: null,
    },
    judge: (doc) => expect(doc).toEqual({ object: 'domain', id: ID('dom') }),
  },
  'DELETE /v1/domains/:id': {
    ...domain,
    noun: 'domain',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: (doc) => expect(doc).toEqual({ object: 'domain', id: ID('dom'), deleted: true }),
  },
};

const unlimited = { keyed: true, unlimited: true } as const;
const suppressionRefusals = ['400 text', '422 text', '400 validation-failed', '413 request-too-large'];

const judgeSuppression = (doc: Document): void => {
  expect(doc).toEqual({
    id: ID('sup'),
    email: expect.stringContaining('@'),
    topic_id: doc['topic_id'] === null ? null : ID('top'),
    origin: expect.stringMatching(/^(manual|unsubscribe)$/),
    source_id: null,
    created_at: TIME,
  });
};

export const suppressionContracts: Contracts = {
  'POST /v1/suppressions': {
    ...unlimited,
    success: '201 json',
    again: '200 json',
    refusals: suppressionRefusals,
    body: resourceBody('email', [
      { email: `${MARK}@a.example` },
      { email: `${MARK}@B\u00fccher.example`, more: {} },
    ]),
    judge: (doc) => expect(doc).toEqual({ object: 'suppression', id: ID('sup') }),
  },
  'POST /v1/suppressions/batch/add': {
    ...unlimited,
    success: '201 json',
    again: '200 json',
    refusals: suppressionRefusals,
    body: resourceBody('emails', [{ emails: [`a-${MARK}@a.example`, `A-${MARK}@A.example`, 'b@b.example'] }]),
    judge: ({ data }) => {
      for (const entry of data as Document[]) expect(entry).toEqual({ object: 'suppression', id: ID('sup') });
    },
  },
  'POST /v1/suppressions/batch/remove': {
    ...unlimited,
    success: '200 json',
    refusals: suppressionRefusals,
    body: { ...resourceBody('emails', [{ emails: [`${MARK}@removed.example`], reason: MARK }]) },
    judge: ({ data }) => expect(data).toEqual([]),
  },
  'GET /v1/suppressions': {
    ...unlimited,
    paged: true,
    success: '200 json',
    refusals: ['400 validation-failed'],
    judge: judgePage(judgeSuppression),
  },
  'GET /v1/suppressions/:id': {
    ...unlimited,
    noun: 'suppression',
    success: '200 json',
    refusals: ['404 not-found'],
    judge({ object, ...doc }) {
      expect(object).toBe('suppression');
      judgeSuppression(doc);
    },
  },
  'DELETE /v1/suppressions/:id': {
    ...unlimited,
    noun: 'suppression',
    success: '200 json',
    refusals: ['404 not-found', '400 text', '400 validation-failed', '413 request-too-large'],
    body: {
      ...SMALL,
      valid: [{}, { reason: MARK }],
      mayBeEmpty: true,
      unreadable: '400 text',
      lacking: null,
    },
    judge: (doc) => expect(doc).toEqual({ object: 'suppression', id: ID('sup'), deleted: true }),
  },
};

const judgeTopic = (doc: Document): void => {
  expect(doc).toEqual({
    id: ID('top'),
    name: expect.any(String),
    description: doc['description'] === null ? null : expect.any(String),
    default_subscription: expect.stringMatching(/^opt_(in|out)$/),
    created_at: TIME,
  });
};

export const topicContracts: Contracts = {
  'POST /v1/topics': {
    ...unlimited,
    success: '200 json',
    refusals: ['400 validation-failed', '413 request-too-large'],
    body: {
      ...SMALL,
      valid: [
        { name: MARK, default_subscription: 'opt_out' },
        { name: `\u{1f389} ${MARK}`, description: null, default_subscription: 'opt_in' },
        { name: MARK, description: '<b>\u{1f389}', default_subscription: 'opt_in', more: [] },
      ],
      unreadable: '400 validation-failed',
      lacking: { fields: ['name'], kind: '400 validation-failed' },
    },
    judge: (doc) => expect(doc).toEqual({ object: 'topic', id: ID('top') }),
  },
  'GET /v1/topics': {
    ...unlimited,
    paged: true,
    success: '200 json',
    refusals: ['400 validation-failed'],
    judge: judgePage(judgeTopic),
  },
  'GET /v1/topics/:id': {
    ...unlimited,
    noun: 'topic',
    success: '200 json',
    refusals: ['404 not-found'],
    judge({ object, ...doc }) {
      expect(object).toBe('topic');
      judgeTopic(doc);
    },
  },
  'PATCH /v1/topics/:id': {
    ...unlimited,
    noun: 'topic',
    success: '200 json',
    refusals: ['400 validation-failed', '404 not-found', '413 request-too-large'],
    body: {
      ...SMALL,
      valid: [
        { name: MARK, more: [] },
        { id: MARK, name: `\u{1f389} ${MARK}`, description: null },
      ],
      unreadable: '400 validation-failed',
      lacking: null,
    },
    judge: (doc) => expect(doc).toEqual({ object: 'topic', id: ID('top') }),
  },
  'DELETE /v1/topics/:id': {
    ...unlimited,
    noun: 'topic',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: (doc) => expect(doc).toEqual({ object: 'topic', id: ID('top'), deleted: true }),
  },
};

export const unsubscribeContracts: Contracts = {
  'GET /u/:id': {
    keyed: false,
    noun: 'token',
    success: '200 page',
    refusals: ['404 not-found'],
    judge: () => undefined,
  },
  'POST /u/:id': {
    keyed: false,
    noun: 'token',
    success: '200 json',
    refusals: ['404 not-found', '400 text', '413 request-too-large'],
    body: { ...SMALL, valid: [{ more: MARK }], unparsed: true, unreadable: '400 text', lacking: null },
    judge: (doc) => expect(doc).toEqual({ object: 'unsubscribe', unsubscribed: true }),
  },
};
