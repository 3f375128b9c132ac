import { describe, expect, test } from '@jest/globals';
import { EVENT_TYPES, PROBLEMS } from '@postrider/domain';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { lawfulKinds, ROUTE_LAWS } from '../../test/fuzz/route-laws.ts';
import { describedRoutes, openApiDocument, refusalsOf, routeName } from './openapi.ts';
import { problemsPage } from './problems-page.ts';
import { ROUTE_DOCS } from './route-docs.ts';
import { envelopeSchema } from './schemas.ts';

/** What the deployment that is fuzzed cannot answer: its provider verifies nothing, and does not fail. */
const ELSEWHERE = ['403 domain-not-verified'];

const ROUTES = describedRoutes().map((route) => [routeName(route), route] as const);

test('every route of the table is described, and no other', () => {
  expect(Object.keys(ROUTE_DOCS).sort()).toEqual(ROUTES.map(([name]) => name).sort());
});

test.each(ROUTES)(
  '%s: the description has every refusal that the contract lets it answer, and no other',
  (name, route) => {
    const [doc, law] = [ROUTE_DOCS[name], ROUTE_LAWS[name]];
    if (doc === undefined || law === undefined) throw new Error('it is not described twice');
    const refusals = refusalsOf(route, doc).filter((refusal) => !refusal.startsWith('5'));
    const lawful = lawfulKinds(law).filter((kind) => !/ (json|page)$/.test(kind));
    const elsewhere = refusals.filter((refusal) => ELSEWHERE.includes(refusal));
    expect([...refusals].sort()).toEqual([...lawful, ...elsewhere].sort());
    const { status, schema } = doc.success;
    expect(`${status} ${schema === 'page' ? 'page' : 'json'}`).toBe(law.success);
  },
);

test.each(ROUTES)('%s: a route that reads a body says what it reads', (name, { body }) => {
  expect(ROUTE_DOCS[name]?.request === undefined).toBe(body === 'ignored');
});

test('the document is OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(openApiDocument()));
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
});

test('each operation has an id of its own', () => {
  const ids = Object.values(ROUTE_DOCS).map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

describe('the schema of a delivery', () => {
  test.each(EVENT_TYPES)('of %s compiles, and refuses what has no data', (type) => {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(envelopeSchema(type));
    expect(validate({ id: 'evt_01jd0000000000000000000001', type, subject: 'acct_1', created_at: '' })).toBe(
      false,
    );
  });

  test('takes the body of a delivery', () => {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
      envelopeSchema('email.sent'),
    );
    const body = {
      id: 'evt_01jd0000000000000000000001',
      type: 'email.sent',
      subject: 'acct_1',
      created_at: '2026-11-20T10:15:30.123Z',
      data: { email_id: 'em_1', from: 'a@a.example', subject: 'Hi', error: null },
    };
    expect(validate(body)).toBe(true);
    expect(validate({ ...body, more: 1 })).toBe(false);
  });
});

test.each(Object.entries(PROBLEMS))(
  'docs/problems.md has a row of %s',
  (slug, { title, family, when, remedy }) => {
    const row = problemsPage()
      .split('\n')
      .find((line) => line.startsWith(`| \`${slug}\` |`));
    for (const words of [title, family, when, remedy]) expect(row).toContain(` ${words} |`);
  },
);
