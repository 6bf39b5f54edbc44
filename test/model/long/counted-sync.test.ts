/** Families that count versions: the synchronous forms. */
import { testLongRun } from '../long-run.js'

testLongRun('sync', ['one', 'three', 'counted', 'apart'])
