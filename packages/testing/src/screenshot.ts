import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs');

/** True: this run writes the screenshots of the documents anew. */
export const MAKES_SCREENSHOTS = process.env['UPDATE_SCREENSHOTS'] === '1';

/** Writes a screenshot into `docs` when UPDATE_SCREENSHOTS=1. @throws Error when `docs` lacks it */
export function keepScreenshot(name: string, png: Buffer): void {
  const file = join(DOCS, name);
  if (MAKES_SCREENSHOTS) writeFileSync(file, png);
  if (!existsSync(file)) throw new Error(`docs lacks ${name}: run the test with UPDATE_SCREENSHOTS=1`);
}
