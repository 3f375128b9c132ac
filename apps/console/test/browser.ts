import { AxeBuilder } from '@axe-core/playwright';
import { expect } from '@jest/globals';
import { setup } from '@postrider/testing';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

interface TestBrowser {
  readonly browser: Browser;
}

/** Registers hooks: one headless Chromium for the tests of a `describe`. */
export function setupBrowser(executablePath: string): TestBrowser {
  return setup(
    async () => {
      // The sandbox needs rights that a container lacks. The pages are our own.
      const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
      return { browser };
    },
    ({ browser }) => browser.close(),
  );
}

/** Signs in and returns a page at the overview. */
export async function signedIn(
  { browser }: TestBrowser,
  url: string,
  key: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext({ baseURL: url, ...options });
  const page = await context.newPage();
  await page.goto('/sign-in');
  await page.locator('#key:focus').waitFor(); // the one field has the focus
  await page.keyboard.type(key);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/`);
  return { page, context };
}

/** Rules of WCAG 2.2 A and AA, and best practices. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Expects that axe finds nothing on the page. */
export async function expectAccessible(page: Page): Promise<void> {
  // The pages have no frames. Legacy mode then finds the same, without a second page for each analysis.
  const { violations, incomplete } = await new AxeBuilder({ page }).setLegacyMode().withTags(RULES).analyze();
  // axe is not sure of a name on an element without a role. Screen readers ignore such a name.
  const unsure = incomplete.filter(({ id }) => id === 'aria-prohibited-attr');
  const found = [...violations, ...unsure].map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`);
  expect({ page: page.url(), found }).toEqual({ page: page.url(), found: [] });
}

/** Expects that the page is not wider than the screen, and that no card of facts cuts a word off. */
export async function expectFits(page: Page): Promise<void> {
  const [widths, cut] = await page.evaluate<[[number, number], string[]]>(`[
    [document.documentElement.scrollWidth, window.innerWidth],
    [...document.querySelectorAll('.facts > div')].flatMap((cell) =>
      [...cell.querySelectorAll('time, .rel, .tag')]
        .filter((each) => each.getBoundingClientRect().right > cell.getBoundingClientRect().right)
        .map((each) => each.textContent)),
  ]`);
  const [content, screen] = widths;
  expect({ page: page.url(), overflows: content > screen, cut }).toEqual({
    page: page.url(),
    overflows: false,
    cut: [],
  });
}
