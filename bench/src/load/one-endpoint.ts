import type { Fixture } from '../figure.ts';

/** Starts a receiver and a new installation, with one webhook to an endpoint that answers at once. */
export async function installWithEndpoint(fixture: Pick<Fixture, 'receiver' | 'install'>) {
  const { process: receiver, origins } = await fixture.receiver();
  const installation = await fixture.install();
  const accountId = await installation.addAccount();
  const url = `${origins[0] ?? ''}/at-once`;
  const webhooks = await installation.addWebhooks(accountId, [url]);
  return { receiver, origins, installation, accountId, url, webhooks };
}
