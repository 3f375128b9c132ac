import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestAuthority } from '@postrider/testing';
import type { Figure, Ground } from '../figure.ts';
import { checkSharedClock } from '../monotonic.ts';
import type { ApiLayersCommands } from '../roles/api-layers.ts';
import type { BareExpressCommands } from '../roles/bare-express.ts';
import type { BareCommands } from '../roles/bare-posts.ts';
import type { BareSmtpCommands } from '../roles/bare-smtp.ts';
import type { CallerCommands } from '../roles/caller.ts';
import type { Commands } from '../roles/protocol.ts';
import type { Certificates, ReceiverCommands } from '../roles/receiver.ts';
import { startRole } from '../roles/role-process.ts';
import type { RoleProcess } from '../roles/role-process.ts';
import type { Sizes } from '../sizes.ts';
import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { createInstallation } from './installation.ts';
import { loopbackAddresses } from './loopback.ts';

export interface GroundOptions {
  readonly sizes: Sizes;
  readonly rounds: number;
  /** Where the bundles of the product and of this program are. */
  readonly bundles: string;
  /** Where CPU profiles of the product's processes go; null: none are made. */
  readonly profileFolder: string | null;
  readonly say: (line: string) => void;
}

/** What a run has in common: a folder, a Postgres, certificates, a copy of the bundles. */
export interface RunGround {
  readonly cluster: Cluster;
  /** A ground for one figure. Closing it ends all that was started on it. */
  forFigure(figure: Pick<Figure, 'id'>): Ground & { close(): Promise<void> };
  close(): Promise<void>;
}

/** The processes look for it above themselves: they refuse a database that is behind. */
const MIGRATIONS = join('prisma', 'migrations');
const BUNDLES = [
  ...['bench.js', 'api.js', 'relay.js', 'worker.js', 'package.json'],
  ...['inbound.js', 'parse-thread.js', 'authenticate-thread.js'],
];

export async function openGround(options: GroundOptions): Promise<RunGround> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', removeFolder);
  const cluster = await startCluster(folder);
  const addresses = await loopbackAddresses();
  const roleEnv = await writeCertificates(folder, addresses);
  // A build that comes in between must not change what is measured.
  const bundles = join(folder, 'dist');
  for (const file of BUNDLES) cpSync(join(options.bundles, file), join(bundles, file));
  cpSync(join(options.bundles, '..', MIGRATIONS), join(folder, MIGRATIONS), { recursive: true });

  return {
    cluster,
    forFigure({ id }) {
      const closers: (() => Promise<void> | void)[] = [];
      const profileFolder = options.profileFolder === null ? null : join(options.profileFolder, id);
      if (profileFolder !== null) mkdirSync(profileFolder, { recursive: true });
      const startOne = <C extends Commands>(role: string, env = {}): RoleProcess<C> => {
        const started = startRole<C>(join(bundles, 'bench.js'), role, { ...roleEnv, ...env });
        closers.unshift(() => started.close());
        return started;
      };
      return {
        ...options,
        say: (line) => options.say(`${id}: ${line}`),
        cluster,
        async receiver() {
          const started = startOne<ReceiverCommands>('receiver');
          await checkSharedClock(() => started.call('clock', null));
          return { process: started, origins: await started.call('listen', addresses) };
        },
        bare: () => startOne<BareCommands>('bare'),
        bareExpress: () => startOne<BareExpressCommands>('bare-express'),
        apiLayers: () => startOne<ApiLayersCommands>('api-layers'),
        bareSmtp: () => startOne<BareSmtpCommands>('bare-smtp'),
        caller: ({ database }, connections) =>
          startOne<CallerCommands>('caller', {
            BENCH_DATABASE_URL: database.url,
            BENCH_CONNECTIONS: String(connections),
          }),
        async install() {
          const database = await cluster.createDatabase();
          const { NODE_EXTRA_CA_CERTS: caFile } = roleEnv;
          const installation = await createInstallation({ database, bundles, folder, caFile, profileFolder });
          closers.unshift(() => installation.close());
          return installation;
        },
        async close() {
          for (const closeOne of closers.splice(0)) await closeOne();
        },
      };
    },
    async close() {
      await cluster.stop();
      process.off('exit', removeFolder);
      removeFolder();
    },
  };
}

/** A certificate for each of the receiver's addresses, as different customers have, and the authority that workers trust. */
async function writeCertificates(folder: string, addresses: readonly string[]) {
  const authority = await createTestAuthority();
  const certificates: Certificates = {};
  for (const address of new Set(addresses)) {
    const { keyPem: key, certPem: cert } = await authority.issue({ addresses: [address] });
    certificates[address] = { key, cert };
  }
  const files = {
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    BENCH_CERTIFICATES_FILE: join(folder, 'certificates.json'),
  };
  writeFileSync(files.NODE_EXTRA_CA_CERTS, authority.caPem);
  writeFileSync(files.BENCH_CERTIFICATES_FILE, JSON.stringify(certificates));
  return files;
}
