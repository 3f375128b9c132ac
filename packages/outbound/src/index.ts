export { createBoundedGet, type BoundedGetOptions, type FetchedAnswer } from './bounded-get.ts';
export { EndpointClient, type EndpointClientOptions, type HttpClient } from './client.ts';
export type {
  Answered,
  EndpointAnswer,
  EndpointRequest,
  Failure,
  FailureCause,
  Refused,
} from './endpoint-answer.ts';
export { AddressGuard } from './guard/address-guard.ts';
export { isCidr, parseCidr, type Cidr } from './guard/cidr.ts';
export { NameLookupError, NameResolver, type NameResolverOptions } from './resolve/name-resolver.ts';
