/** A separate AWS with its own accounts, regions and domain. */
export interface AwsPartition {
  /** As ARNs name it. */
  readonly id: string;
  readonly region: RegExp;
  /** The addresses of its services end in this domain. */
  readonly domain: string;
}

/** https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html */
const PARTITIONS: readonly AwsPartition[] = [
  { id: 'aws', region: /^(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]{3,12}-\d{1,2}$/, domain: 'amazonaws.com' },
  { id: 'aws-us-gov', region: /^us-gov-[a-z]{3,12}-\d{1,2}$/, domain: 'amazonaws.com' },
  { id: 'aws-cn', region: /^cn-[a-z]{3,12}-\d{1,2}$/, domain: 'amazonaws.com.cn' },
  { id: 'aws-eusc', region: /^eusc-[a-z]{2}-[a-z]{3,12}-\d{1,2}$/, domain: 'amazonaws.eu' },
  { id: 'aws-iso', region: /^us-iso-[a-z]{3,12}-\d{1,2}$/, domain: 'c2s.ic.gov' },
  { id: 'aws-iso-b', region: /^us-isob-[a-z]{3,12}-\d{1,2}$/, domain: 'sc2s.sgov.gov' },
  { id: 'aws-iso-e', region: /^eu-isoe-[a-z]{3,12}-\d{1,2}$/, domain: 'cloud.adc-e.uk' },
  { id: 'aws-iso-f', region: /^us-isof-[a-z]{3,12}-\d{1,2}$/, domain: 'csp.hci.ic.gov' },
];

/** @returns undefined when no partition has such a region. */
export function awsPartitionOf(region: string): AwsPartition | undefined {
  return PARTITIONS.find((partition) => partition.region.test(region));
}
