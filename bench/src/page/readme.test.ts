import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readResult } from '../publish.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const { figures } = readResult(join(ROOT, 'docs', 'benchmark-2-cores', 'result.json'));

/** The median of a check or value of the published run. */
function published(id: string, wanted: string): number {
  const figure = figures.find((one) => one.id === id);
  const one = [...(figure?.checks ?? []), ...(figure?.values ?? [])].find(({ name }) => name === wanted);
  if (one === undefined) throw new Error(`${id} has no '${wanted}'`);
  return one.measured.median;
}

const whole = (number: number): string => Math.round(number).toLocaleString('en');
const times = (number: number): string => `${number.toFixed(1)} ×`;

test('the table of the README has the numbers of the published run', () => {
  const mail = ['worker', 'relay', 'Postgres', 'Redis'].reduce(
    (sum, name) => sum + published('hand-over', `CPU per mail: ${name}`),
    0,
  );
  const delivery = 'CPU of relay, worker, Redis and Postgres per delivery, against a bare';
  const event = 'CPU of all processes per event';
  const rows = [
    [
      whole(published('drain', 'CPU per delivery: relay, worker, Redis and Postgres')),
      times(published('drain', `${delivery} got post`)),
      times(published('drain', `${delivery} https.request`)),
      whole(published('drain', 'deliveries')),
    ],
    [
      whole(1000 * published('suppress', 'CPU of the api per request')),
      times(published('suppress', 'CPU of the api per request, against the bare route')),
      whole(published('suppress', 'requests')),
    ],
    [
      whole(published('request-to-arrival', event)),
      times(published('request-to-arrival', `${event}, against a bare got post`)),
      whole(published('request-to-arrival', 'requests, to the last arrival')),
    ],
    [
      whole(mail),
      times(mail / published('hand-over', 'CPU per bare got post')),
      whole(published('hand-over', 'mails handed over and told of')),
    ],
  ];
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const table = /^## How fast$.*?^\| -+ .*?\n(.*?)\n\n/ms.exec(readme)?.[1]?.split('\n') ?? [];
  const numbers = table.map((row) =>
    Array.from(row.matchAll(/[\d,.]+(?= µs|\/s )|[\d.]+ ×/g), ([number]) => number),
  );
  expect(numbers).toEqual(rows);
});
