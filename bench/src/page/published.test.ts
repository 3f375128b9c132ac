import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readResult } from '../publish.ts';
import { FIGURES } from '../registry.ts';
import { readNotes } from './notes.ts';
import { pageOf, plotsOf } from './page.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const ASSETS = join(ROOT, 'docs', 'benchmark');
const result = readResult(join(ASSETS, 'result.json'));
const notes = readNotes(join(ROOT, 'bench', 'notes'));

test('the published page is what its result and the notes make: nobody has edited a number', () => {
  expect(readFileSync(join(ROOT, 'docs', 'benchmark.md'), 'utf8')).toBe(pageOf(result, notes));
});

test('every plot that it shows is there, and no other', () => {
  const plots = plotsOf(result).map(({ id }) => `${id}.svg`);
  expect(readdirSync(ASSETS).sort()).toEqual([...plots, 'result.json'].sort());
});

test('every note belongs to a figure', () => {
  const figures: readonly string[] = FIGURES.map(({ id }) => id);
  expect([...notes.keys()].filter((id) => !figures.includes(id))).toEqual([]);
});
