/**
 * Families that count versions: the synchronous forms.
 *
 * @runs campaign
 */
import { testLongRun } from '../long-run.js'

testLongRun('sync', ['one', 'three', 'counted', 'apart'])
