/** The figures of the engine on the page of the server: a system without routes. */
import { figuresText, type MonitoredDatabase } from '../metrics/index.js'
import type { ServerSystem } from './server-system.js'

/** Shows the figures of a database; undefined while another process leads. */
export function engineMetrics(database: () => MonitoredDatabase | undefined): ServerSystem {
  return {
    name: 'engine',
    paths: {},
    register: () => undefined,
    metrics: () => {
      const opened = database()
      return opened === undefined ? '' : figuresText([opened])
    },
  }
}
