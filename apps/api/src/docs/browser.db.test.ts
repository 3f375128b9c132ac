import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from '@jest/globals';
import { describeWithChromium, keepScreenshot, setup } from '@postrider/testing';
import { chromium } from 'playwright-core';
import { setupApi } from '../../test/start-api.ts';

const api = setupApi();

describeWithChromium('/docs in a browser', (executablePath) => {
  const opened = setup(
    // The sandbox needs rights that a container lacks. The page is our own.
    async () => ({ browser: await chromium.launch({ executablePath, args: ['--no-sandbox'] }) }),
    ({ browser }) => browser.close(),
  );

  test('loads nothing, reports nothing, shows an operation, axe finds nothing, and it fits on 320 px', async () => {
    const context = await opened.browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    const requested: string[] = [];
    const reported: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    page.on('console', (message) => reported.push(message.text()));
    page.on('pageerror', (error) => reported.push(error.message));
    await page.goto(`${api.url}/docs`);
    await page.locator('details:has(#createWebhook) > summary').click();
    await page.locator('#createWebhook').getByText('"https://shop.example.com/hooks/mail"').first().waitFor();
    await page.locator('details:has(#createWebhook)').scrollIntoViewIfNeeded();
    // The page has no frames. Legacy mode then finds the same, without a second page.
    const { violations, incomplete } = await new AxeBuilder({ page }).setLegacyMode().analyze();
    const found = [...violations, ...incomplete.filter(({ id }) => id === 'aria-prohibited-attr')];
    expect(found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`)).toEqual([]);
    keepScreenshot('api-reference.png', await page.screenshot());
    expect(requested).toEqual([`${api.url}/docs`]);
    expect(reported).toEqual([]);
    await page.setViewportSize({ width: 320, height: 740 });
    await page.evaluate('document.querySelectorAll("details").forEach((each) => (each.open = true))');
    const widths = await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]');
    const [content = 0, screen = 0] = widths as number[];
    expect(content).toBeLessThanOrEqual(screen);
    await context.close();
  });

  test('the keyboard skips the contents or follows them, and no code takes the focus', async () => {
    const page = await opened.browser.newPage();
    await page.goto(`${api.url}/docs`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.locator('main a[href="/openapi.json"]:focus').count()).toBe(1);
    const sections = await page.locator('main h2').allTextContents();
    const links = page.getByRole('navigation', { name: 'Contents' }).getByRole('link');
    expect(await links.allTextContents()).toEqual(sections);
    await links.filter({ hasText: 'Dead letters' }).press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.locator('summary:focus').textContent()).toContain('/v1/webhooks/dead-letters');
    expect(await page.locator('pre[tabindex]').count()).toBe(0);
    await page.close();
  });

  test('a screen reader finds each operation, event and schema by its heading', async () => {
    const page = await opened.browser.newPage();
    await page.goto(`${api.url}/docs`);
    const folded = await page.locator('details').count();
    expect(await page.getByRole('heading', { level: 3 }).count()).toBe(folded);
    expect(await page.getByRole('heading', { name: /^POST \/v1\/webhooks [A-Z]/, level: 3 }).count()).toBe(1);
    await page.close();
  });

  test.each(['replayDeadLetter', 'schema-DeadLetterList'])(
    'a link to #%s opens it, with its name in view',
    async (id) => {
      const page = await opened.browser.newPage();
      await page.goto(`${api.url}/docs#${id}`);
      const opens = page.locator('details[open]', { has: page.locator(`#${id}`) });
      await opens.waitFor();
      expect(await page.locator('details[open]').count()).toBe(1);
      const box = await opens.locator('> summary').boundingBox();
      expect(box?.y).toBeGreaterThanOrEqual(0);
      await page.close();
    },
  );
});
