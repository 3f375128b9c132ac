import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs');

/** Whether this run makes the pictures of the README anew. */
export const MAKES_SCREENSHOTS = process.env['UPDATE_SCREENSHOTS'] === '1';

/** Writes a screenshot for the README, when UPDATE_SCREENSHOTS=1. @throws Error when `docs` lacks it */
export function keepScreenshot(name: string, png: Buffer): void {
  const file = join(DOCS, name);
  if (MAKES_SCREENSHOTS) writeFileSync(file, png);
  if (!existsSync(file)) throw new Error(`docs lacks ${name}: run the test with UPDATE_SCREENSHOTS=1`);
}
