import type { ProblemBases } from '@postrider/domain';
import type { ConfigurationOf } from '@postrider/runtime';

/** The settings of the API. packages/runtime/src/config describes each variable. */
export type ApiConfiguration = ConfigurationOf<'api'>;

export function problemBasesOf(config: ApiConfiguration): ProblemBases {
  return { service: config.problemsBase, platform: config.platformProblemsBase };
}
