import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe } from '@jest/globals';
import { describeWithout } from './describe-without.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/**
 * A `describe` that needs Chromium. Without one on the PATH it is skipped, with the reason in its title. With
 * REQUIRE_CHROMIUM=1, as in CI, it fails instead.
 *
 * @param define gets the path of the program
 */
export function describeWithChromium(title: string, define: (executablePath: string) => void): void {
  const path = chromiumPath();
  if (path !== null) describe(title, () => define(path));
  else describeWithout(title, 'REQUIRE_CHROMIUM', 'no chromium on PATH', () => define('chromium'));
}

function chromiumPath(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const paths = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
