# Figures of lme4 for the tests of MixedLinearRegressor, and the data they are of.
#
#   Rscript gaussian.R     (Debian: r-cran-lme4, r-cran-nlme, r-cran-jsonlite)
#
# writes a CSV file for each data set and gaussian.json with the figures of each fit.
suppressMessages({library(lme4); library(nlme, exclude = c("lmList")); library(jsonlite)})

control <- lmerControl(optimizer = "bobyqa", calc.derivs = FALSE,
                       check.conv.singular = "ignore",
                       optCtrl = list(rhoend = 1e-10, maxfun = 1e5))
plain <- function(data) as.data.frame(lapply(data, function(v)
  if (is.factor(v)) as.character(v) else as.numeric(v)))

fits <- list()
record <- function(name, data, formula, REML = TRUE) {
  fit <- lme4::lmer(formula, data, REML = REML, control = control)
  parts <- as.data.frame(VarCorr(fit))
  se <- sqrt(diag(as.matrix(vcov(fit))))
  effects <- lapply(ranef(fit, condVar = FALSE), function(e)
    list(level = rownames(e), values = unname(as.matrix(e))))
  fits[[length(fits) + 1]] <<- list(
    data = name, formula = deparse1(formula), reml = REML,
    fixed = as.list(fixef(fit)), standard_error = as.list(setNames(se, names(fixef(fit)))),
    variance = parts[is.na(parts$var2) | TRUE, c("grp", "var1", "var2", "vcov", "sdcor")],
    sigma = sigma(fit), log_likelihood = as.numeric(logLik(fit)), AIC = AIC(fit),
    BIC = BIC(fit), singular = isSingular(fit), effects = effects,
    lme4 = as.character(packageVersion("lme4")))
}

Machines <- plain(nlme::Machines)
Oats <- plain(nlme::Oats)
Orthodont <- plain(nlme::Orthodont)
sets <- list(sleepstudy = plain(sleepstudy), Dyestuff = plain(Dyestuff),
             Dyestuff2 = plain(Dyestuff2), Pastes = plain(Pastes),
             Penicillin = plain(Penicillin), cake = plain(cake),
             Machines = Machines, Oats = Oats, Orthodont = Orthodont)
for (name in names(sets))
  write.csv(sets[[name]], paste0(name, ".csv"), row.names = FALSE, quote = FALSE)

for (REML in c(TRUE, FALSE)) {
  record("sleepstudy", sets$sleepstudy, Reaction ~ Days + (Days | Subject), REML)
  record("sleepstudy", sets$sleepstudy, Reaction ~ Days + (Days || Subject), REML)
  record("sleepstudy", sets$sleepstudy, Reaction ~ Days + (1 | Subject), REML)
  record("Dyestuff", sets$Dyestuff, Yield ~ 1 + (1 | Batch), REML)
  record("Dyestuff2", sets$Dyestuff2, Yield ~ 1 + (1 | Batch), REML)
  record("Pastes", sets$Pastes, strength ~ 1 + (1 | batch/cask), REML)
  record("Penicillin", sets$Penicillin, diameter ~ 1 + (1 | plate) + (1 | sample), REML)
  record("cake", sets$cake, angle ~ temp + recipe + (1 | recipe:replicate), REML)
  record("Machines", sets$Machines, score ~ Machine + (Machine | Worker), REML)
  record("Machines", sets$Machines,
         score ~ Machine + (1 | Worker) + (1 | Worker:Machine), REML)
  record("Oats", sets$Oats, yield ~ nitro + Variety + (1 | Block/Variety), REML)
  record("Orthodont", sets$Orthodont, distance ~ age + Sex + (age | Subject), REML)
}
write(toJSON(fits, auto_unbox = TRUE, digits = 10, pretty = FALSE), "gaussian.json")
