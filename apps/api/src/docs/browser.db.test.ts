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

  test('loads nothing, reports nothing, shows an operation, axe finds nothing, and it fits on 360 px', async () => {
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
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`)).toEqual([]);
    keepScreenshot('api-reference.png', await page.screenshot());
    expect(requested).toEqual([`${api.url}/docs`]);
    expect(reported).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.evaluate('document.querySelectorAll("details").forEach((each) => (each.open = true))');
    const widths = await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]');
    const [content = 0, screen = 0] = widths as number[];
    expect(content).toBeLessThanOrEqual(screen);
    await context.close();
  });

  test.each(['replayDeadLetter', 'schema-DeadLetterList'])('a link to #%s opens it, with its name in view', async (id) => {
    const page = await opened.browser.newPage();
    await page.goto(`${api.url}/docs#${id}`);
    const opens = page.locator('details[open]', { has: page.locator(`#${id}`) });
    await opens.waitFor();
    expect(await page.locator('details[open]').count()).toBe(1);
    const box = await opens.locator('> summary').boundingBox();
    expect(box?.y).toBeGreaterThanOrEqual(0);
    await page.close();
  });
});
