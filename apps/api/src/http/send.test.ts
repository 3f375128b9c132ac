import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createMetrics } from '@postrider/runtime';
import { BASES } from '../../test/start-api.ts';
import { notReady } from '../problems/answers.ts';
import { openRequest } from './request-context.ts';
import { createSend } from './send.ts';

test('a failure counts also when its client has left', async () => {
  const metrics = createMetrics('api', { processMetrics: false });
  const send = createSend(BASES, { warn: () => undefined }, metrics);
  const incoming = new IncomingMessage(new Socket());
  const response = new ServerResponse(incoming);
  openRequest(incoming, response);
  response.destroy();
  send(incoming, response, notReady);
  expect(await metrics.registry.metrics()).toContain(
    'postrider_http_failures_total{problem="not-ready",service="api"} 1',
  );
});
