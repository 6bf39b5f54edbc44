/** The metrics of the engine on the metrics page of the server: a system without routes. */
import { requireFunction } from '../systems/transactions/checks.js'
import { figuresText, type MonitoredDatabase } from '../metrics/index.js'
import { finderOf, type ServerSystem } from '../http/server-system.js'

/**
 * Shows the metrics of a database; undefined while another process leads. `ERR_INVALID_ARGUMENT`
 * unless the argument is a function.
 */
export function engineMetrics(database: () => MonitoredDatabase | undefined): ServerSystem {
  const find = finderOf(requireFunction(database, 'database'), 'the database', ['statistics'])
  return {
    name: 'engine',
    register: () => undefined,
    metrics: () => {
      const opened = find()
      return opened === undefined ? '' : figuresText([opened])
    },
  }
}
