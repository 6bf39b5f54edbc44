/**
 * Families with a TTL and MIN_VERSIONS: the synchronous forms.
 *
 * @runs campaign
 */
import { testLongRun } from '../long-run.js'

testLongRun('sync', ['one', 'expiring', 'least'])
