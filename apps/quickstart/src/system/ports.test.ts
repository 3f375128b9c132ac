import { expect, test } from '@jest/globals';
import { startTcpListener } from '@postrider/testing';
import type { Settings } from '../settings.ts';
import { givenPort } from './ports.ts';

test.each(['METRICS_PORT', 'INBOUND_SMTP_PORT'] as const)(
  'a taken port is refused when %s names it, and replaced when it is the default',
  async (variable) => {
    const listener = await startTcpListener();
    const { port } = listener;
    const choose = (env: Settings['env']) => givenPort({ env } as Settings, '127.0.0.1', port, variable);
    await expect(choose({ [variable]: String(port) })).rejects.toThrow(
      `port ${port} on 127.0.0.1 is taken; choose another: ${variable}=`,
    );
    expect(await choose({})).not.toBe(port);
    await listener.close();
    expect(await choose({})).toBe(port);
  },
);
