import { startScriptedReceiver } from '@postrider/testing';
import type { ScriptedReceiver, TestAuthority } from '@postrider/testing';
import type { Random } from '../random.ts';

/**
 * HTTPS servers on different addresses of 127.0.0.0/9: for the worker they are different hosts. On macOS only
 * 127.0.0.1 can be bound, and they differ by port.
 */
export async function startReceiverHosts(
  authority: TestAuthority,
  random: Random,
  count: number,
): Promise<ScriptedReceiver[]> {
  const hosts = Array.from(
    { length: count },
    () => `127.${random.between(1, 126)}.${random.between(0, 255)}.${random.between(1, 254)}`,
  );
  return Promise.all(hosts.map((host) => startOn(host, authority)));
}

async function startOn(host: string, authority: TestAuthority): Promise<ScriptedReceiver> {
  try {
    return await startScriptedReceiver({ authority, host });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') throw error;
    return startScriptedReceiver({ authority });
  }
}
