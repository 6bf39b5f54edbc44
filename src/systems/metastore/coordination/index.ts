/** Locks, elections, counters and table views on metadata stores. */
export { nextCounterValue } from './counter.js'
export {
  LeaderElection,
  type LeaderElectionListener,
  type LeaderElectionOptions,
} from './leader-election.js'
export type { LeaderElectionState } from './election-waits.js'
export { LockManager, type LockOptions } from './lock-manager.js'
export type { LockState, ResourceLock } from './resource-lock.js'
export { CoordinationService } from './service.js'
export { MetadataTableView, type TableViewOptions } from './table-view.js'
