import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { openReadDatabase } from '@postrider/store';
import { systemClock, waitFor } from '@postrider/testing';
import express from 'express';
import { HttpVisitor } from '../../test/http-visitor.ts';
import { KEYS, setupConsole } from '../../test/start-console.ts';
import { ConsoleServer } from '../server.ts';
import { createRespond } from './respond.ts';
import { servePage } from './serve-page.ts';
import type { Visit } from './serve-page.ts';

const opened = setupConsole();

test('a page learns that its browser has disconnected', async () => {
  const { cookie } = await new HttpVisitor(opened.url).signIn(KEYS.ada);
  const options = { databaseUrl: opened.database.url, applicationName: 'page', size: 1 };
  const reads = openReadDatabase({ ...options, onError: () => undefined });
  const digest = createHash('sha256').update(KEYS.ada).digest();
  const keys = [{ name: 'ada', role: 'operator', digest }] as const;
  const serving = { reads, keys, clock: systemClock, respond: createRespond(systemClock) };
  const visits: Visit[] = [];
  let isOver = false;
  const untilGone = async (visit: Visit) => {
    visits.push(visit);
    await waitFor(() => !visit.isConnected(), { what: 'the browser to be gone' });
    isOver = true;
    return { redirect: '/' };
  };
  const server = new ConsoleServer(express().get('/', servePage(serving, untilGone)));
  const port = await server.listen(0, '127.0.0.1');
  const browser = new AbortController();
  const page = fetch(`http://127.0.0.1:${port}/`, { headers: { cookie }, signal: browser.signal });
  const visit = await waitFor(() => visits[0], { what: 'the visit' });
  expect(visit.isConnected()).toBe(true);
  browser.abort();
  await expect(page).rejects.toThrow('aborted');
  await waitFor(() => isOver, { what: 'the page to end' });
  await server.stop(1_000);
  await reads.close();
});
