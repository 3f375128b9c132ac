import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readNotes } from './page/notes.ts';
import { pageOf, plotsOf } from './page/page.ts';
import { plotSvg } from './page/plot.ts';
import { resultSchema } from './result/result.ts';
import type { Result } from './result/result.ts';

/**
 * Writes `benchmark.md` and, beside it, `benchmark/result.json` with a plot for each that the page shows.
 * @param folder of the page @param notesFolder where the notes on the figures are
 */
export function writePage(measured: Result, folder: string, notesFolder: string): void {
  const result = rounded(measured);
  const assets = join(folder, 'benchmark');
  mkdirSync(assets, { recursive: true });
  for (const name of readdirSync(assets).filter((file) => file.endsWith('.svg'))) rmSync(join(assets, name));
  for (const plot of plotsOf(result)) writeFileSync(join(assets, `${plot.id}.svg`), plotSvg(plot));
  writeFileSync(join(assets, 'result.json'), `${JSON.stringify(result, null, 1)}\n`);
  writeFileSync(join(folder, 'benchmark.md'), pageOf(result, readNotes(notesFolder)));
}

/** To six digits that count: more are noise, and the file is read by people, too. */
function rounded(result: Result): Result {
  const text = JSON.stringify(result, (_, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value,
  );
  return resultSchema.parse(JSON.parse(text));
}

/** @throws ZodError when it is no result, or one of another format */
export function readResult(file: string): Result {
  return resultSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}
