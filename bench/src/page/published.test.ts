import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readResult } from '../publish.ts';
import { FIGURES } from '../registry.ts';
import { readNotes } from './notes.ts';
import { pageOf, plotsOf } from './page.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const DOCS = join(ROOT, 'docs');
const notes = readNotes(join(ROOT, 'bench', 'notes'));

describe.each(['benchmark', 'benchmark-2-cores'])('the published page %s', (name) => {
  const result = readResult(join(DOCS, name, 'result.json'));

  test('is what its result and the notes make: nobody has edited a number', () => {
    expect(readFileSync(join(DOCS, `${name}.md`), 'utf8')).toBe(pageOf(result, { notes, name }));
  });

  test('has every plot that it shows, and no other', () => {
    const plots = plotsOf(result).map(({ id }) => `${id}.svg`);
    expect(readdirSync(join(DOCS, name)).sort()).toEqual([...plots, 'result.json'].sort());
  });
});

test('every note belongs to a figure', () => {
  const figures: readonly string[] = FIGURES.map(({ id }) => id);
  expect([...notes.keys()].filter((id) => !figures.includes(id))).toEqual([]);
});

test.each(FIGURES.map((figure) => [figure.id, figure] as const))(
  'a page whose result has the figure %s prints it with its notes',
  (id, { title, group }) => {
    const published = readResult(join(DOCS, 'benchmark', 'result.json'));
    const [any] = published.figures;
    if (any === undefined) throw new Error('the published result has no figure');
    const page = pageOf(
      { ...published, figures: [{ ...any, id, title, group }] },
      { notes: new Map([[id, `Note on ${id}.`]]), name: 'benchmark' },
    );
    expect(page).toContain(`### ${title}\n`);
    expect(page).toContain(`#### Where the time goes\n\nNote on ${id}.\n`);
  },
);
