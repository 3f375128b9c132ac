import { describe } from '@jest/globals';
import { onPath } from '@postrider/embedded';
import { describeWithout } from './describe-without.ts';

/**
 * A `describe` that needs Chromium. Without one on the PATH it is skipped, with the reason in its title. With
 * REQUIRE_CHROMIUM=1, as in CI, it fails instead.
 *
 * @param define gets the path of the program
 */
export function describeWithChromium(title: string, define: (executablePath: string) => void): void {
  const path = onPath('chromium', 'chromium-browser', 'google-chrome');
  if (path !== null) describe(title, () => define(path));
  else describeWithout(title, 'REQUIRE_CHROMIUM', 'no chromium on PATH', () => define('chromium'));
}
