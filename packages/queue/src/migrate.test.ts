import { expect, test } from '@jest/globals';
import { startTcpListener } from '@postrider/testing';
import { migrateQueueSchema, queueSchemaIsCurrent } from './migrate.ts';

test.each([
  ['asking for the tables', queueSchemaIsCurrent],
  ['making them', migrateQueueSchema],
])('%s ends by itself when the server accepts the connection and stays silent', async (_, work) => {
  const silent = await startTcpListener();
  await expect(work(`postgres://nobody:x@127.0.0.1:${silent.port}/none`)).rejects.toThrow('timeout');
  await silent.close();
});
