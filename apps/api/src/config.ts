import type { ProblemBases } from '@postrider/domain';
import type { ConfigurationOf } from '@postrider/runtime';

/** What the API reads from the environment; every variable is described in packages/runtime/src/config. */
export type ApiConfiguration = ConfigurationOf<'api'>;

export function problemBasesOf(config: ApiConfiguration): ProblemBases {
  return { service: config.problemsBase, platform: config.platformProblemsBase };
}
