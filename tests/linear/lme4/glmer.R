# Reference figures of generalised linear mixed models by lme4's glmer (Laplace).
#
# Rscript tests/linear/lme4/glmer.R       (needs lme4, mlmRev, MASS, jsonlite)
#
# It writes glmer.json and the data as data/*.csv, so that the tests need no R. Each
# model is fitted to tight tolerances, twice, and the better optimum is kept.

suppressMessages({
  library(lme4)
  library(mlmRev)
  library(MASS)
  library(jsonlite)
})
folder <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))

indicators <- function(data, ...) {
  # columns of 0 and 1, one for each level of a factor but the first
  for (name in c(...)) {
    for (level in levels(data[[name]])[-1]) {
      data[[sub("+", "more", paste0(name, level), fixed = TRUE)]] <- as.integer(data[[name]] == level)
    }
    data[[name]] <- NULL
  }
  data
}

# Binomial counts as rows of 0 and 1 with weights.
cows <- transform(cbpp, herd = as.integer(herd), row = seq_len(nrow(cbpp)))
cows <- rbind(
  transform(cows, y = 1, weight = incidence), transform(cows, y = 0, weight = size - incidence)
)
cows <- indicators(cows[cows$weight > 0, c("y", "weight", "herd", "row", "period")], "period")

verbal <- VerbAgg[as.integer(VerbAgg$id) <= 80, ]
verbal <- transform(
  verbal, y = as.integer(r2 == "Y"), person = as.integer(id), item = as.integer(item)
)
verbal <- indicators(
  verbal[c("y", "person", "item", "Anger", "Gender", "btype", "situ", "mode")],
  "Gender", "btype", "situ", "mode"
)

women <- transform(
  Contraception, y = as.integer(use == "Y"), district = as.integer(as.character(district)),
  age = round(age, 4) / 10, urban = as.integer(urban == "Y")
)
women$age2 <- women$age^2
women <- indicators(women[c("y", "district", "age", "age2", "urban", "livch")], "livch")

children <- transform(
  bacteria, y = as.integer(y == "y"), child = as.integer(ID), late = as.integer(week > 2)
)
children <- indicators(children[c("y", "child", "late", "trt")], "trt")

vaccinated <- transform(
  guImmun, y = as.integer(immun == "Y"), mother = as.integer(mom), community = as.integer(comm),
  old = as.integer(kid2p == "Y"), rural = as.integer(rural == "Y"), indigenous = round(pcInd81, 5)
)[c("y", "mother", "community", "old", "rural", "indigenous")]

chicks <- transform(
  grouseticks, y = TICKS, brood = as.integer(BROOD), chick = as.integer(INDEX),
  location = as.integer(LOCATION), height = round(cHEIGHT, 5) / 100
)
chicks <- indicators(chicks[c("y", "chick", "brood", "location", "height", "YEAR")], "YEAR")

seizures <- transform(
  epil, treated = as.integer(trt == "progabide"), lbase = round(lbase, 6), lage = round(lage, 6)
)
seizures$treated_lbase <- seizures$treated * seizures$lbase
seizures <- seizures[c("y", "subject", "treated", "lbase", "treated_lbase", "lage", "V4")]

deaths <- transform(
  Mmmec, y = deaths, nation = as.integer(nation), region = as.integer(region), uvb = round(uvb, 5),
  log_expected = round(log(expected), 6)
)[c("y", "nation", "region", "log_expected", "uvb")]

tables <- list(
  cbpp = cows, verbagg = verbal, contraception = women, bacteria = children, guimmun = vaccinated,
  grouseticks = chicks, epil = seizures, mmmec = deaths
)
for (name in names(tables)) {
  write.csv(
    tables[[name]], file.path(folder, "data", paste0(name, ".csv")), row.names = FALSE, quote = FALSE
  )
}

# data, family, random part in lme4's words, and in ours: group, slopes, covariance
model <- function(data, family, random, ...) {
  list(data = data, family = family, random = random, terms = list(...))
}
term <- function(group, slopes = character(), covariance = "full") {
  list(group = group, slopes = I(slopes), covariance = covariance)
}
models <- list(
  cbpp = model("cbpp", "binomial", "(1 | herd)", term("herd")),
  cbpp_rows = model("cbpp", "binomial", "(1 | herd) + (1 | row)", term("herd"), term("row")),
  verbagg = model("verbagg", "binomial", "(1 | person) + (1 | item)", term("person"), term("item")),
  contraception = model("contraception", "binomial", "(1 | district)", term("district")),
  contraception_slope = model(
    "contraception", "binomial", "(1 + urban | district)", term("district", "urban")
  ),
  contraception_diagonal = model(
    "contraception", "binomial", "(1 | district) + (0 + urban | district)",
    term("district", "urban", "diagonal")
  ),
  bacteria = model("bacteria", "binomial", "(1 | child)", term("child")),
  guimmun = model(
    "guimmun", "binomial", "(1 | mother) + (1 | community)", term("mother"), term("community")
  ),
  grouseticks = model(
    "grouseticks", "poisson", "(1 | chick) + (1 | brood) + (1 | location)",
    term("chick"), term("brood"), term("location")
  ),
  epil = model("epil", "poisson", "(1 | subject)", term("subject")),
  epil_slope = model("epil", "poisson", "(1 + V4 | subject)", term("subject", "V4")),
  mmmec = model("mmmec", "poisson", "(1 | region) + (1 | nation)", term("region"), term("nation")),
  mmmec_slope = model(
    "mmmec", "poisson", "(1 | region) + (1 + uvb | nation)", term("region"), term("nation", "uvb")
  )
)

fit_one <- function(spec) {
  data <- tables[[spec$data]]
  groups <- c(vapply(spec$terms, `[[`, "", "group"), "herd", "row")
  fixed <- setdiff(names(data), c("y", "weight", "log_expected", groups))
  formula <- as.formula(paste("y ~", paste(c("1", fixed, spec$random), collapse = " + ")))
  data$w <- if (is.null(data$weight)) 1 else data$weight
  data$o <- if (is.null(data$log_expected)) 0 else data$log_expected
  run <- function(optimizer, options, start) {
    suppressMessages(suppressWarnings(glmer(
      formula, data, spec$family, weights = w, offset = o, start = start,
      control = glmerControl(optimizer, optCtrl = options, tolPwrss = 1e-12)
    )))
  }
  fits <- list(run("bobyqa", list(maxfun = 1e5, rhoend = 1e-8), NULL))
  start <- list(theta = getME(fits[[1]], "theta"), fixef = fixef(fits[[1]]))
  again <- list(xtol_abs = 1e-9, ftol_abs = 1e-9, xtol_rel = 0, ftol_rel = 0, maxeval = 1e5)
  fits[[2]] <- run("nloptwrap", again, start)
  fits[[which.max(vapply(fits, function(f) as.numeric(logLik(f)), 0))]]
}

describe <- function(spec) {
  fit <- fit_one(spec)
  covariances <- lapply(VarCorr(fit), function(v) matrix(as.numeric(v), nrow(v)))
  by_group <- function(values) lapply(spec$terms, function(t) {
    # a group that stands in two parts has independent effects: one diagonal
    mine <- values[grep(paste0("^", t$group, "(\\.[0-9]+)?$"), names(values))]
    if (length(mine) == 1) mine[[1]] else diag(vapply(mine, function(m) m[1], 0))
  })
  c(spec, list(
    fixed = names(fixef(fit)), coef = unname(fixef(fit)),
    standard_error = unname(sqrt(diag(as.matrix(vcov(fit))))),
    covariances = by_group(covariances), log_likelihood = as.numeric(logLik(fit)), aic = AIC(fit),
    effects = lapply(spec$terms, function(t) {
      effect <- ranef(fit, condVar = FALSE)[[t$group]]
      as.matrix(head(effect, 5))
    }),
    mean = unname(head(fitted(fit), 10)),
    population_link = unname(head(predict(fit, re.form = NA), 10))
  ))
}
results <- lapply(models, describe)
versions <- list(R = as.character(getRversion()), lme4 = as.character(packageVersion("lme4")))
write_json(
  list(versions = versions, models = results), file.path(folder, "glmer.json"),
  auto_unbox = TRUE, digits = I(10), pretty = TRUE
)
