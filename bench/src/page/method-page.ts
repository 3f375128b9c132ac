import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Figure } from '../figure.ts';
import type { FigureResult } from '../result/result.ts';

/** Notes by figure, written by hand in Markdown: what limits the figure, and what was tried. */
export type Notes = ReadonlyMap<string, string>;

type Described = Pick<Figure, 'id' | 'title' | 'group' | 'how'>;

/** The page with the method of each figure and its notes. */
export function methodPage(figures: readonly Described[], notes: Notes): string {
  return `${[
    '# How the benchmark measures',
    'Made by `npm run bench -- --publish`; do not edit. Notes are in `bench/notes`.',
    'This page describes each figure of the current code: how it is measured, what limits it, and what was tried. The ' +
      'results: [four cores](benchmark.md), [two cores](benchmark-2-cores.md).',
    ...section('## Load', figures, 'load', notes),
    ...section('## Isolation', figures, 'isolation', notes),
  ].join('\n\n')}\n`;
}

function section(
  heading: string,
  figures: readonly Described[],
  group: FigureResult['group'],
  notes: Notes,
): string[] {
  const described = figures
    .filter((figure) => figure.group === group)
    .flatMap(({ id, title, how }) => {
      const note = notes.get(id);
      return [`### ${title}`, how, ...(note === undefined ? [] : ['**What limits it.**', note.trim()])];
    });
  return described.length === 0 ? [] : [heading, ...described];
}

/** @param folder contains one file per figure, such as `drain.md` */
export function readNotes(folder: string): Notes {
  const files = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
  return new Map(
    files.sort().map((name) => [basename(name, '.md'), readFileSync(join(folder, name), 'utf8')] as const),
  );
}
