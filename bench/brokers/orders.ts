/** What brokers and their parent say to each other, and the paths that they share. */
import type { LeaderElectionState, SessionEvent } from '../../src/systems/metastore/pulsar/index.js'

/** The bundles of the namespace: its hash range in four parts. */
export const bundles: readonly string[] = [
  '0x00000000_0x40000000',
  '0x40000000_0x80000000',
  '0x80000000_0xc0000000',
  '0xc0000000_0xffffffff',
]
/** Path above the locks of the bundles. */
export const namespace = '/namespace/acme/orders'
/** Path of the leader's record. */
export const leaderPath = '/loadbalance/leader'
/** Path of the configuration that all brokers read. */
export const policies = '/admin/policies/acme/orders'

/** From the parent to a broker. */
export type Order =
  | { readonly do: 'take' | 'work'; readonly path: string }
  | { readonly do: 'watch' | 'sweep' }
  | { readonly do: 'configure'; readonly ttl: number }

/** From a broker to the parent. */
export type Report =
  | { readonly ready: string }
  | { readonly done: Order['do'] }
  | { readonly session: SessionEvent }
  | { readonly state: LeaderElectionState }
  | { readonly owns: string; readonly token: number }
  | { readonly lost: string }
  | { readonly working: string; readonly token: number }
  | { readonly work: string; readonly outcome: string }
  | { readonly ttl: number }
