/** The HTTP server of the systems over tables, and its client. The entry `cellardb/server`. */
export { CellarServer, type ServerOptions, type ServerSystem } from './server.js'
export { messagingRoutes, type MessagingRoutesOptions } from './messaging-routes.js'
export { MessagingClient, type MessagingClientOptions } from './client.js'
