// One composition of the implementation: its parts, what is observed of it, and the names of the suite.
import { inspect } from 'node:util'
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import AgentLoop, { CONFIGURED_AGENT_IDENTITIES_KEY } from '@deepseek-ai/dsh-agent-loop'
import InvariantRegistry from '@deepseek-ai/dsh-invariants'
import LlmRuntime from '@deepseek-ai/dsh-llm'
import SessionStore, { Session } from '@deepseek-ai/dsh-session'
import * as sessionInvariants from '@deepseek-ai/dsh-session/invariant'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import { execute } from './commands.mjs'
import { Part, fail } from './functions.mjs'
import { EVENTS, showFields } from './kinds.mjs'
import { stubPersistence } from './lifecycle_commands.mjs'
import { Places } from './places.mjs'
import { openStream } from './streams.mjs'
import { SuiteSettings } from './tool_commands.mjs'
import { Fault, isAgent, nameOf, show, thrown } from './values.mjs'

/** The parts in the order of mounting; a part waits for those it needs. */
const PARTS = {
  llm: [LlmRuntime, () => undefined],
  sessions: [SessionStore, () => undefined],
  prompt: [SystemPrompt, ({ prompt }) => prompt ?? { includeHarnessIdentity: false }],
  tools: [ToolRuntime, () => undefined],
  agents: [AgentRegistry, () => undefined],
  loop: [AgentLoop, ({ maxParallelToolCalls, agents }) => ({
    ...(maxParallelToolCalls === undefined ? {} : { maxParallelToolCalls }),
    ...(agents === undefined ? {} : { agents }),
  })],
}

/** What the parts lead to while they are mounted: no observation before the world is open. */
const CONTRIBUTED = new Set(['tools/change', 'system-prompt/change', 'llm/adapters-updated'])

/** More rows than any command can lead to, unless the implementation goes round in circles. */
const MOST_ROWS = 20_000

export class World {
  closed = false
  opened = false
  /** What ends whatever waits when the world is closed. */
  gone = new Error('the world was closed')
  root = new Context()
  parts = new Map()
  fibers = new Map()
  gates = new Map()
  agents = new Map()
  sessions = new Map()
  handles = new Map()
  signals = new Map()
  disposers = new Map()
  adapters = new Map()
  prepared = new Map()
  streams = new Map()
  selections = new Map()
  kept = new Map()
  tokens = new Map()
  names = new WeakMap()
  named = new Map()
  signalNames = new WeakMap()
  errorNames = new WeakMap()
  #gates = 0
  #made = []

  /** @param {{rows: object[], faults: string[], overflow: Function}} record  Where rows and faults go. */
  constructor(record) {
    this.record = record
  }

  /** Compose what `config` says; fails as the implementation does. */
  async open(config) {
    const {
      without = [], bare = false, maxParallelToolCalls: _cap, prompt: _prompt, agents: _agents, enforce: _enforced,
      identities: _identities, persistence: _persistence, settings: _settings, ...others
    } = config
    const unknown = [...Object.keys(others), ...without.filter((part) => !(part in PARTS))]
    if (unknown.length > 0) throw new Fault(`this adapter cannot open a world with "${unknown[0]}"`)
    this.places = new Places(this)
    this.#observe()
    this.root.fiber._disposables.clear() // as the framework does: what observes it outlives a disposal of the root
    if (!bare) await this.#mount(config)
    this.opened = true
  }

  async #mount({ without = [], enforce = false, identities, persistence, settings, ...config }) {
    if (identities !== undefined) this.root.provide(CONFIGURED_AGENT_IDENTITIES_KEY, identities)
    if (settings !== undefined) await this.root.plugin(SuiteSettings)
    for (const name of Object.keys(PARTS)) {
      if (name === 'loop' && persistence !== undefined) await this.load('persistence', persistence)
      if (!without.includes(name)) await this.load(name, config)
    }
    if (enforce) {
      await this.root.plugin(InvariantRegistry, {})
      await this.root.plugin(sessionInvariants)
    }
  }

  /** Mount one part; the references to services that it brings are kept when it goes. */
  load(name, config) {
    const mounted = name === 'persistence'
      ? this.root.plugin(stubPersistence(this, config))
      : this.root.plugin(PARTS[name][0], PARTS[name][1](config))
    this.fibers.set(name, mounted)
    return Promise.resolve(mounted).then(() => {
      if (name === 'agents') this.registry = this.root.get('agents')
    })
  }

  /** Close one part. */
  unload(name) {
    const mounted = this.fibers.get(name)
    if (mounted === undefined) throw new Fault(`the part "${name}" is not loaded`)
    return mounted.dispose()
  }

  /** Abandon what waits and tear down; nothing of it is reported. */
  async close() {
    this.closed = true
    for (const gate of this.gates.values()) fail(gate, this.gone)
    this.gates.clear()
    await this.root.fiber.dispose()
  }

  /** Listen to every notification, before the suite can: unscoped, and on nothing that is awaited. */
  #observe() {
    const { root } = this
    for (const [name, kind] of Object.entries(EVENTS)) {
      if (!kind.emitted) continue
      root.on(name, (...args) => {
        if (this.closed || (!this.opened && CONTRIBUTED.has(name))) return
        const { session, agent, ...reading } = kind.reading(...args)
        if (name === 'session/created') this.#appears(session)
        const about = session !== undefined ? { session: nameOf(session, this) } : {}
        const subject = this.agentName(agent)
        if (subject !== undefined) about.agent = subject
        if (name === 'session/event') this.row({ on: 'log', ...about, event: show(reading.fields.event, this) })
        else this.row({ on: 'live', name, ...about, payload: showFields(kind, reading, this) })
      })
    }
    root.logger.exporter({
      levels: { default: 2 },
      export: ({ type, args }) => {
        if (type !== 'warn' && type !== 'error') return
        const text = args.map((arg) => (arg instanceof Error || typeof arg === 'string' ? String(arg) : inspect(arg)))
        this.row({ on: 'report', level: type === 'warn' ? 'warning' : 'error', text: text.join(' ') })
      },
    })
  }

  row(row) {
    if (!this.closed && this.record.rows.push(row) > MOST_ROWS) this.record.overflow()
  }

  /** Remember a fault of the suite, which makes the reply one; anything else is thrown on. */
  faultOrThrow(error) {
    if (!(error instanceof Fault)) throw error
    this.record.faults.push(error.message)
  }

  thrown(error) {
    return thrown(error, this)
  }

  execute(command, frame) {
    return execute(command, { world: this, ...frame })
  }

  stream(script, { call, at }) {
    if (call === undefined) throw new Fault('a {"$stream"} stands outside of a call')
    return openStream(call, script, at === undefined ? '' : `${at}.`)
  }

  /** The name of an execution token: t1, t2, … in order of appearance. */
  token(symbol) {
    for (const [name, known] of this.tokens) if (known === symbol) return name
    const name = `t${this.tokens.size + 1}`
    this.tokens.set(name, symbol)
    return name
  }

  gateId() {
    return `g${++this.#gates}`
  }

  /** The function that a `$fn` stands for: a new one where it says more than the name. */
  part(spec) {
    const name = spec.$fn
    if (Object.keys(spec).length > 1 || !this.parts.has(name)) this.parts.set(name, new Part(spec))
    return this.parts.get(name)
  }

  /** Show objects by a name from now on; what had the name before is shown by its id again. */
  name(name, ...objects) {
    for (const object of this.named.get(name) ?? []) this.names.delete(object)
    for (const object of objects) this.names.set(object, name)
    this.named.set(name, objects)
  }

  /** Give an agent, and the session that it drives, a name. */
  bind(name, agent) {
    this.name(name, agent, agent.session)
    this.agents.set(name, agent)
    this.sessions.set(name, agent.session)
  }

  /** Give a session a name. */
  bindSession(name, session) {
    this.name(name, session)
    this.agents.delete(name)
    this.sessions.set(name, session)
  }

  /** Call what makes a session, which is to be called so as soon as it appears. */
  making(name, make) {
    this.#made.push({ name })
    try {
      return make()
    } finally {
      this.#made.pop()
    }
  }

  /** A session is announced: the one that is being made, unless that has a name already. */
  #appears(session) {
    const expected = this.#made.at(-1)
    if (expected === undefined || expected.seen || this.names.has(session)) return
    expected.seen = true
    const agent = this.live(session.id)
    if (agent?.session === session) this.bind(expected.name, agent)
    else this.bindSession(expected.name, session)
  }

  /** The agent that a call is about, where the implementation may give its id only. */
  live(agent) {
    return typeof agent === 'string' ? this.root.get('agents')?.get(agent) : agent
  }

  /** How an agent is called in rows; nothing if it is none. */
  agentName(agent) {
    return agent === undefined ? undefined : nameOf(agent, this)
  }

  /** An agent by its name or, where the suite did not name it, by its id; inside a call it may be given itself. */
  agent(which) {
    const agent = isAgent(which) ? which : this.agents.get(which) ?? this.live(which)
    if (agent === undefined) throw new Fault(`there is no agent ${JSON.stringify(which)}`)
    return agent
  }

  handle(which) {
    const handle = this.handles.get(isAgent(which) ? this.names.get(which) : which)
    if (handle === undefined) throw new Fault(`there is no handle of an agent ${JSON.stringify(which)}`)
    return handle
  }

  session(which) {
    if (which instanceof Session) return which
    const session = this.sessions.get(which) ?? this.root.get('sessions')?.get(which)
    if (session === undefined) throw new Fault(`there is no session ${JSON.stringify(which)}`)
    return session
  }

  /** The scope key that a place names: an agent, or one of the suite's own; nothing for the root. */
  scope(place = 'root') {
    if (place === 'root') return undefined
    if (typeof place === 'string') return this.places.key(place)
    if (typeof place === 'object' && place !== null && 'agent' in place) return this.agent(place.agent)
    throw new Fault(`there is no context ${JSON.stringify(place)}`)
  }

  /** The context through which a command goes. */
  context(place = 'root') {
    return typeof place === 'string' ? this.places.context(place) : this.scope(place).ctx
  }
}
