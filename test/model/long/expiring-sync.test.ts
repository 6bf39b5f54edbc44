/** Families with a TTL and MIN_VERSIONS: the synchronous forms. */
import { testLongRun } from '../long-run.js'

testLongRun('sync', ['one', 'expiring', 'least'])
