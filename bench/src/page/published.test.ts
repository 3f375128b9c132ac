import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readResult } from '../publish.ts';
import { FIGURES } from '../registry.ts';
import { methodPage, notedFigures } from './method-page.ts';
import { pageOf, plotsOf } from './page.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const DOCS = join(ROOT, 'docs');
const noted = notedFigures(join(ROOT, 'bench', 'notes'));

const name = 'benchmark-2-cores';
const result = readResult(join(DOCS, name, 'result.json'));

describe('the published page', () => {
  test('is what its result makes: nobody has edited a number', () => {
    expect(readFileSync(join(DOCS, `${name}.md`), 'utf8')).toBe(pageOf(result, { name }));
  });

  test('has every plot that it shows, and no other', () => {
    const plots = plotsOf(result).map(({ id }) => `${id}.svg`);
    expect(readdirSync(join(DOCS, name)).sort()).toEqual([...plots, 'result.json'].sort());
  });
});

test('every note belongs to a figure', () => {
  const figures: readonly string[] = FIGURES.map(({ id }) => id);
  expect(noted.filter((id) => !figures.includes(id))).toEqual([]);
});

test('the method page is what the figures make, with links to their notes', () => {
  expect(readFileSync(join(DOCS, 'benchmark-method.md'), 'utf8')).toBe(methodPage(FIGURES, noted));
});

test.each(FIGURES.map((figure) => [figure.id, figure] as const))(
  'the figure %s is on the method page with a link to its note, and on the page of a result that has it',
  (id, { title, group }) => {
    const [any] = result.figures;
    if (any === undefined) throw new Error('the published result has no figure');
    const page = pageOf({ ...result, figures: [{ ...any, id, title, group }] }, { name });
    expect(page).toContain(`[${title}](benchmark-method.md#`);
    const parts = methodPage(FIGURES, [id]).split(`](../bench/notes/${id}.md)\n`);
    expect(parts).toHaveLength(2);
    expect(parts[0]?.split('\n### ').at(-1)?.startsWith(`${title}\n`)).toBe(true);
  },
);
