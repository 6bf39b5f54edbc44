/** The HTTP server of the systems over tables, and its client. The entry `cellardb/server`. */
export { CellarServer } from './server.js'
export type { ServerOptions } from './server-options.js'
export type { ServerContext, ServerSystem, SystemHealth } from './http/server-system.js'
export type { MemoryLease, RequestMemory } from './http/request-memory.js'
export { ServerErrorCode } from './http/http-errors.js'
export type { JsonSchema, Operation } from './http/operations.js'
export { messagingRoutes, type MessagingRoutesOptions } from './messaging/messaging-routes.js'
export { engineMetrics } from './engine-metrics.js'
export { MessagingClient, type MessagingClientOptions } from './messaging/client.js'
export { transactionRoutes, type TransactionsSource } from './transactions/transaction-routes.js'
export {
  TransactionClient,
  type TransactionClientOptions,
} from './transactions/transaction-client.js'
export { repositoryRoutes, type RepositoryRoutesOptions } from './repository/repository-routes.js'
export type { RepositorySource } from './repository/repository-call.js'
export type { AccessRule, FieldPermission, Principal } from './http/access.js'
export type { IndexesSource } from './repository/repository-indexes.js'
export type { CellarConfiguration, ConfigurationExport } from './configuration.js'
