// The commands of the profile `llm`: adapters and their models, prepared calls, streams outside of any agent.
import { installModelSelection } from '@deepseek-ai/dsh-agent'
import { LlmError } from '@deepseek-ai/dsh-llm'
import { Started, owned } from './commands.mjs'
import { Fault } from './values.mjs'

/** An operation of the runtime, called through one context. */
const llm = (work) => ({ in: place, ...args }, { world }) => work(world.context(place).llm, args, world)

const named = (map, name, what) => {
  if (map.has(name)) return map.get(name)
  throw new Fault(`there is no ${what} ${JSON.stringify(name)}`)
}

export const LLM = {
  'model.replace'({ of, routes }, { world }) {
    const registration = named(world.disposers, of, 'registration')
    if (registration.replace === undefined) throw new Fault(`"${of}" is no registration of a model`)
    registration.replace(routes)
  },
  'model.providers': llm((runtime) => runtime.listProviders()),
  'model.models': llm((runtime, { provider }) => new Started(runtime.listModels(provider))),
  'model.info': llm((runtime, { provider, model }) => new Started(runtime.resolveModelInfo(provider, model))),

  'llm.prepare': llm((runtime, { call: name, config, signal }, world) => {
    const prepared = runtime.prepareCall(config, signal).then((call) => {
      world.prepared.set(name, call)
      return call
    })
    return new Started(prepared, {
      value: ({ config, adapterDefaults, retryPolicy, context }) =>
        ({ config, adapterDefaults, retryPolicy, context }),
    })
  }),
  'llm.stream': llm((runtime, { stream: name, call, request }, world) => {
    const dispatcher = call === undefined ? runtime : named(world.prepared, call, 'prepared call')
    world.streams.set(name, dispatcher.stream(request)[Symbol.asyncIterator]())
  }),
  'llm.pull'({ stream }, { world }) {
    return new Started(named(world.streams, stream, 'stream').next(), {
      value: ({ done, value }) => (done ? { end: true } : { chunk: value }),
    })
  },
  'llm.close'({ stream }, { world }) {
    return new Started(Promise.resolve(named(world.streams, stream, 'stream').return?.()), { value: () => undefined })
  },
  'llm.error'({ message, code, ...facts }) {
    const error = new LlmError(message, code, facts)
    return { code: error.code, failure: error.failure }
  },

  'model.select'({ agent: which, selection, as }, { world }) {
    const agent = world.agent(which)
    if (as !== undefined) {
      const installed = { current: undefined, assembled: undefined }
      owned(world, as, installModelSelection(agent.ctx, installed))
      world.selections.set(agent, installed)
    }
    if (!world.selections.has(agent)) throw new Fault('no model selection is installed: give it a name with as')
    world.selections.get(agent).current = selection ?? undefined
  },
}
