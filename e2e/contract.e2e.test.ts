import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PROBLEMS } from '@postrider/domain';
import { PROBLEM_BASES, startContractFixture } from './contract/fixture.ts';
import type { Answer, ContractFixture } from './contract/fixture.ts';
import { LIMIT_ROWS } from './contract/limit-rows.ts';
import { STATUS_ROWS } from './contract/status-rows.ts';

/* The contract's table of statuses (7.2) and its table of limits (8), row by row, against real processes. */

const TIMEOUT_MS = 120_000;

let fixture: ContractFixture;

beforeAll(async () => {
  fixture = await startContractFixture();
}, TIMEOUT_MS);
afterAll(() => fixture.close(), TIMEOUT_MS);

/** The rows of a table of the contract, each as a list of its cells. */
function contractRows(name: string): string[][] {
  const lines = readFileSync(new URL(`contract/fixtures/${name}.md`, import.meta.url), 'utf8').split('\n');
  return lines
    .slice(2)
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const statuses = contractRows('statuses').map(([status = '', slug = '']) => `${status} ${slug}`);
const limits = contractRows('limits').map(([what = '']) => what);

test('every row of the two tables has a test here, and every test here has a row', () => {
  expect(Object.keys(STATUS_ROWS).sort()).toEqual([...statuses].sort());
  expect(Object.keys(LIMIT_ROWS).sort()).toEqual([...limits].sort());
});

/** The members that the catalogue gives a problem, with the base addresses of the deployment. */
function cataloguedProblem(type: unknown, status: number): object {
  const slug = String(type).split('/').at(-1) ?? '';
  const problem = Object.entries(PROBLEMS).find(([name]) => name === slug)?.[1];
  if (problem === undefined) throw new Error(`the catalogue has no ${slug}`);
  const statuses: number[] = [problem.status, ...('alsoStatus' in problem ? [problem.alsoStatus] : [])];
  expect(statuses).toContain(status);
  return { type: `${PROBLEM_BASES[problem.family]}/${slug}`, title: problem.title, status };
}

/** `201`, `413 text` or `422 validation-failed`. A problem document must be as the catalogue has it. */
function kindOf({ status, mediaType, json, requestId }: Answer): string {
  expect(requestId).toMatch(/^req_/);
  if (status < 300) return String(status);
  if (mediaType !== 'application/problem+json')
    return `${status} ${mediaType.startsWith('text/plain') ? 'text' : mediaType}`;
  expect(json).toMatchObject({ ...cataloguedProblem(json?.['type'], status), instance: requestId });
  return `${status} ${String(json?.['type']).split('/').at(-1)}`;
}

describe('contract 7.2: a request of each condition gets the status and the slug', () => {
  test.each(Object.entries(STATUS_ROWS))(
    '%s',
    async (name, row) => {
      if ('succeed' in row) {
        for (const [status, answer] of await row.succeed(fixture))
          expect(kindOf(answer)).toBe(String(status));
        return;
      }
      for (const answer of [await row.reach(fixture)].flat()) expect(kindOf(answer)).toBe(name);
      for (const answer of (await row.inPlainText?.(fixture)) ?? []) {
        expect(kindOf(answer)).toBe(`${name.slice(0, 3)} text`);
        expect(answer.text).toMatch(/^[A-Z].{1,100}[.]$/);
      }
    },
    TIMEOUT_MS,
  );
});

describe('contract 8: a request within the limit is accepted, and one just over it is refused', () => {
  test.each(Object.entries(LIMIT_ROWS))(
    '%s',
    async (_, row) => {
      if ('listed' in row) {
        const { json } = await row.listed(fixture);
        expect(json?.['data']).toHaveLength(row.entries);
        return;
      }
      if ('receive' in row) {
        expect(await row.receive(fixture, row.receivedBytes)).toBe(250);
        expect(await row.receive(fixture, row.receivedBytes + 1)).toBe(552);
        return;
      }
      for (const { within, over, refusal, field } of row.bounds) {
        expect(kindOf(await within(fixture))).toMatch(/^20[012]$/);
        const refused = await over(fixture);
        expect(kindOf(refused)).toBe(refusal);
        if (field !== undefined) expect(refused.json?.['errors']).toMatchObject([{ field }]);
      }
    },
    TIMEOUT_MS,
  );
});
